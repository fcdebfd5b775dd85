/* Pointers: a treap of numbers, with inserts and look-ups. */
#include <stdio.h>
#include <stdlib.h>

struct node { int key; unsigned rank; struct node *left, *right; };
static struct node pool[60000];
static int used;

static struct node *insert(struct node *tree, int key, unsigned rank)
{
    if (!tree) {
        struct node *made = &pool[used++];
        *made = (struct node){key, rank, 0, 0};
        return made;
    }
    if (key < tree->key) {
        struct node *left = tree->left = insert(tree->left, key, rank);
        if (left->rank > tree->rank) {
            tree->left = left->right;
            left->right = tree;
            return left;
        }
    } else if (key > tree->key) {
        struct node *right = tree->right = insert(tree->right, key, rank);
        if (right->rank > tree->rank) {
            tree->right = right->left;
            right->left = tree;
            return right;
        }
    }
    return tree;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned seed = 9;
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        struct node *tree = 0;
        used = 0;
        for (int i = 0; i < 50000; i++) {
            seed = seed * 1664525u + 1013904223u;
            tree = insert(tree, (int)(seed >> 12) % 50000, seed * 2654435761u);
        }
        for (int i = 0; i < 50000; i++) {
            struct node *at = tree;
            while (at && at->key != i)
                at = i < at->key ? at->left : at->right;
            sum += at != 0;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
