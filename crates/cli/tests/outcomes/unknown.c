// kind: inconclusive
// says: 'nobody_knows_this'
extern int nobody_knows_this(int);
int main(void) {
    return nobody_knows_this(3); // HERE
}
