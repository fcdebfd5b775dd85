// kind: abort
// says: abort was called
#include <stdlib.h>
static void give_up(void) {
    abort(); // HERE
}
int main(void) {
    give_up();
    return 0;
}
