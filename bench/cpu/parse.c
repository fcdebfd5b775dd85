/* Parsing: expressions as text, read by recursive descent into nodes of a pool, and evaluated. */
#include <stdio.h>
#include <stdlib.h>

struct node {
	char op;
	long value;
	struct node *left, *right;
};

static const char *at;
static struct node pool[64];
static int used;

static struct node *make(char op, long value, struct node *left, struct node *right)
{
	struct node *node = &pool[used++];
	node->op = op;
	node->value = value;
	node->left = left;
	node->right = right;
	return node;
}

static struct node *sum(void);

static void skip(void)
{
	while (*at == ' ')
		at++;
}

static struct node *atom(void)
{
	skip();
	if (*at == '(') {
		at++;
		struct node *inner = sum();
		skip();
		at++;
		return inner;
	}
	long value = 0;
	while (*at >= '0' && *at <= '9')
		value = value * 10 + (*at++ - '0');
	return make('n', value, 0, 0);
}

static struct node *product(void)
{
	struct node *left = atom();
	for (skip(); *at == '*' || *at == '/'; skip()) {
		char op = *at++;
		left = make(op, 0, left, atom());
	}
	return left;
}

static struct node *sum(void)
{
	struct node *left = product();
	for (skip(); *at == '+' || *at == '-'; skip()) {
		char op = *at++;
		left = make(op, 0, left, product());
	}
	return left;
}

static long evaluate(struct node *node)
{
	long a, b;
	if (node->op == 'n')
		return node->value;
	a = evaluate(node->left);
	b = evaluate(node->right);
	switch (node->op) {
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	default: return b ? a / b : 0;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	long total = 0;
	for (int round = 0; round < rounds; round++) {
		at = "(1 + 23) * (45 - 6 * (7 + 8)) / 9 + 1000 * (200 - 3 * (40 + 5)) - (6 + 7 * (8 + 9 * (10 + 11))) * 12";
		struct node *tree = sum();
		total = total * 31 + evaluate(tree) + round;
		used = 0;
	}
	printf("%ld\n", total);
	return 0;
}
