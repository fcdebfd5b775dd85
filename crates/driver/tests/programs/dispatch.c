/* Loops that dispatch: many ways lead to the end of the body, some through calls, some by another loop, some out of it. */
#include <stdio.h>
#include <stdlib.h>

static unsigned seed = 1;

__attribute__((noinline)) static unsigned next(void)
{
    return (seed = seed * 1103515245u + 12345u) >> 16;
}

/* Every way is short, and none calls. */
static long plain(const unsigned char *code, int length)
{
    long a = 1, b = 2;
    for (int at = 0; at < length;) {
        switch (code[at++] % 12) {
        case 0: a += b; break;
        case 1: a -= 3; break;
        case 2: b ^= a; break;
        case 3: a = -a; break;
        case 4: b += 5; break;
        case 5: a *= 3; break;
        case 6: b <<= 1; break;
        case 7: if (a > b) at++; break;
        case 8: if (a < 0) return a + b; else if (b & 4) a++; else b++; break;
        case 9: for (int i = 0; i < (code[at] & 7); i++) a += i; break;
        case 10: b = a >> 1; continue;
        default: a ^= 7;
        }
    }
    return a + b;
}

/* The same inside of another loop, with calls on some ways, and a dispatching loop in one of its cases. */
static long nested(int rounds)
{
    long sum = 0;
    while (rounds-- > 0) {
        unsigned state = next() % 9;
        do {
            switch (state) {
            case 0: state = next() % 11; break;
            case 1: sum++; state = 2; break;
            case 2: sum += 2; state = 3; break;
            case 3: sum ^= 5; state = next() % 3; break;
            case 4: sum--; state = 9; break;
            case 5: sum *= 3; state = 8; break;
            case 6: sum += state; state = 10; break;
            case 7: {
                unsigned char code[20];
                for (int i = 0; i < 20; i++)
                    code[i] = (unsigned char)next();
                sum += plain(code, 20);
                state = 4;
                break;
            }
            case 8: sum -= 4; state = 0; break;
            case 9: goto out;
            default: state = next() & 1 ? 9 : 1;
            }
        } while (state != 10 || (sum & 1));
    out:
        sum &= 0xffffff;
    }
    return sum;
}

int main(int argc, char **argv)
{
    printf("%ld\n", nested(argc > 1 ? atoi(argv[1]) : 10));
    return 0;
}
