// kind: null-dereference
// says: function pointer
static int (*handler)(int);
int main(void) {
    return handler(3); // HERE
}
