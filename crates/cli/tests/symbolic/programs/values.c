// Values of all kinds that threads share without order: bit-fields, unions, structs, floats, wide integers.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct pair {
    int x, y;
    char name[12];
    long z;
};

static struct {
    unsigned a : 3, b : 5, c : 1;
    int d : 9;
} flags;
static union {
    uint32_t word;
    uint8_t byte[4];
} both;
static struct pair shared = { 1, 2, "hello", 7 };
static double ratio = 1.5;
static float single = 0.5f;
static long double longer = 1.0L;
static __int128 huge = 5;
static int turn;
static int table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };

static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static int (*operation)(int, int) = add;

static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static struct pair by_value(struct pair p)
{
    p.x += p.y;
    return p;
}

static void members(long id)
{
    flags.a += id + 1;
    flags.b ^= flags.a;
    flags.d -= 3;
    flags.c = flags.a > 2;
    both.word += 0x01020304;
    both.byte[1] ^= 0x5a;
    both.byte[3]++;
}

static void structs(void)
{
    struct pair local = shared, copy;
    local.x++;
    local.z += local.x;
    local.name[0]++;
    shared = by_value(local);
    memcpy(&copy, &shared, sizeof copy);
    copy.y *= 2;
    memmove(&shared, &copy, sizeof copy);
}

static void numbers(long id)
{
    ratio = ratio * 1.25 + id;
    single = (float)ratio - single;
    longer = longer * 2 + id;
    huge = huge * 3 + turn;
    huge >>= 1;
    huge -= -turn;
    if (ratio > 3.0 && single < 2.0f)
        turn += (int)ratio;
    if (huge > 10)
        turn ^= (int)huge;
    if (longer > 3)
        turn++;
}

static void control(void)
{
    switch (turn) {
    case 0:
        turn = 1;
        break;
    case 1:
    case 2:
        turn += 2;
        break;
    default:
        turn = turn * 2 % 5;
    }
    int i = turn & 7;
    table[i] += table[(i + 1) & 7];
    operation = turn > 2 ? add : subtract;
    int r = operation(turn, table[0]);
    turn = fibonacci((r > 4 ? r - 1 : r + 1) & 7);
    unsigned v = turn;
    v = (v << 3) | (v >> 29);
    turn = v / (turn | 1) + v % ((turn & 3) + 1);
    turn += (short)((signed char)turn * 77) >> 2;
}

static void text(void)
{
    char buffer[64], bytes[16];
    snprintf(buffer, sizeof buffer, "%d %s", turn, shared.name);
    printf("%d %f %s\n", turn, ratio, shared.name);
    if (strcmp(shared.name, "iello") == 0)
        turn++;
    memset(bytes, turn, sizeof bytes);
    turn += bytes[3];
    strcpy(bytes, shared.name);
    turn += strlen(bytes);
}

static void *worker(void *arg)
{
    members((long)arg);
    structs();
    control();
    text();
    numbers((long)arg);
    return (void *)(long)turn;
}

int main(void)
{
    pthread_t threads[3];
    long total = 0;
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + turn));
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        total += (long)result;
    }
    assert(total != 12345 && flags.b < 31 && shared.x < 12);
    return turn == 3;
}
