/* Interpreter-like: a stack machine that runs a loop of its own. */
#include <stdio.h>
#include <stdlib.h>

enum { PUSH, ADD, SUBTRACT, MULTIPLY, XOR, DUPLICATE, SWAP, DROP, JUMP_IF, LOAD, STORE, LESS, HALT };

static const int program[] = {
    PUSH, 0, STORE, 0, PUSH, 1, STORE, 1,
    /* 8: */ LOAD, 1, LOAD, 0, DUPLICATE, PUSH, 3, MULTIPLY, XOR, ADD, STORE, 1,
    LOAD, 0, PUSH, 1, ADD, DUPLICATE, STORE, 0, PUSH, 1000, SWAP, LESS, JUMP_IF, 8, LOAD, 1, HALT,
};

static long run(long memory[8])
{
    long stack[32];
    int top = 0, at = 0;
    for (;;) {
        switch (program[at++]) {
        case PUSH: stack[top++] = program[at++]; break;
        case ADD: top--; stack[top - 1] += stack[top]; break;
        case SUBTRACT: top--; stack[top - 1] -= stack[top]; break;
        case MULTIPLY: top--; stack[top - 1] *= stack[top]; break;
        case XOR: top--; stack[top - 1] ^= stack[top]; break;
        case DUPLICATE: stack[top] = stack[top - 1]; top++; break;
        case SWAP: { long t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
        case DROP: top--; break;
        case JUMP_IF: if (stack[--top]) at = program[at]; else at++; break;
        case LOAD: stack[top++] = memory[program[at++]]; break;
        case STORE: memory[program[at++]] = stack[--top]; break;
        case LESS: top--; stack[top - 1] = stack[top] < stack[top - 1]; break;
        case HALT: return stack[top - 1];
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    long memory[8] = {0}, sum = 0;
    for (int i = 0; i < rounds; i++)
        sum ^= run(memory) + i;
    printf("%ld\n", sum);
    return 0;
}
