// kind: null-dereference
#include <stdlib.h>
static const char *volatile nothing;
int main(void) {
    return atoi(nothing); // HERE
}
