// What the parts of pbzip2 share.
#ifndef PBZIP2_H
#define PBZIP2_H

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

constexpr int QUEUESIZE = 4;      // blocks that may wait for a consumer
constexpr int MAX_CONSUMERS = 32;
constexpr size_t MIN_BLOCK = 100;
constexpr size_t MAX_BLOCK = 64 * 1024 * 1024;

// Set from the command line, then read by all threads.
struct Options {
    std::string input;
    std::string output;       // empty: the input's name with .bz2
    size_t blockSize = 900 * 1024;
    int consumers = 2;
    int level = 9;            // bzip2's own block size, 1 to 9
    bool force = false;       // overwrite the output
    bool quiet = false;
    bool verify = false;      // decompress every block before it is written
};

// A piece of the input on its way from the producer to a consumer.
struct Block {
    int number = 0;
    char *data = nullptr;     // new[]
    size_t size = 0;
};

// queue.cpp: the queue of blocks that wait for a consumer. The mutex and the
// conditions are used by producer and consumers directly.
struct queue {
    Block blocks[QUEUESIZE];
    int head;
    int tail;
    bool full;
    bool empty;
    pthread_mutex_t *mut;
    pthread_cond_t *notFull;
    pthread_cond_t *notEmpty;
};

queue *queueInit();
void queueDelete(queue *q);
// Both with q->mut held; q must not be full or empty, respectively.
void queueAdd(queue *q, const Block &block);
Block queueDel(queue *q);

// A block that was compressed, at its place in the output.
struct OutBuffer {
    char *data = nullptr;     // new[]; null until the block is done
    unsigned size = 0;
    size_t inSize = 0;        // before compression
    uint32_t inCrc = 0;       // only with -t
};

struct Totals {
    size_t inBytes = 0;
    size_t outBytes = 0;
    int blocks = 0;
};

// The state of one compression, as in the original global variables.
extern Options options;
extern queue *fifo;                        // null when there is none
extern int producerDone;                   // under fifo->mut
extern std::vector<OutBuffer> OutputBuffer;
extern pthread_mutex_t OutMutex;           // protects OutputBuffer
extern pthread_cond_t OutReady;            // a block was added to it
extern Totals totals;
extern pthread_mutex_t TotalsMutex;        // protects totals

// threads.cpp: the three kinds of work.
void producer(int input, int numBlocks, size_t fileSize);
void *consumer(void *);
void *fileWriter(void *outputDescriptor);

// compress.cpp: one file from beginning to end; returns 0, or 1 on trouble.
int compressFile();

// fileio.cpp: descriptors. All end the program on errors.
int openInput(const std::string &name, size_t *size);
int openOutput(const std::string &name, bool force);
void readFully(int descriptor, char *data, size_t size);
void writeFully(int descriptor, const char *data, size_t size);
[[noreturn]] void fail(const std::string &message);
[[noreturn]] void failErrno(const std::string &what);

// check.cpp: checks of what was compressed.
uint32_t checksum(const char *data, size_t size);
bool blockIsIntact(const OutBuffer &block);

#endif
