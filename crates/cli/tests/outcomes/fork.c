// kind: inconclusive
// says: 'fork'
#include <unistd.h>
int main(void) {
    return fork() > 0; // HERE
}
