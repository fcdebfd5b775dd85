// kind: null-dereference
// says: write of 4 bytes
struct node { long id; int value; };
static struct node *find(int key) { return key ? (struct node *)0 : (struct node *)0; }
int main(void) {
    find(3)->value = 5; // HERE
    return 0;
}
