// Producer (the main thread), consumers and file writer.
#include "pbzip2.h"

#include <bzlib.h>

#include <algorithm>

// Cuts the input into blocks and puts them into the queue.
void producer(int input, int numBlocks, size_t fileSize)
{
    size_t left = fileSize;

    for (int number = 0; number < numBlocks; number++) {
        Block block;
        block.number = number;
        block.size = std::min(left, options.blockSize);
        block.data = new char[block.size];
        readFully(input, block.data, block.size);
        left -= block.size;

        pthread_mutex_lock(fifo->mut);
        while (fifo->full)
            pthread_cond_wait(fifo->notFull, fifo->mut);
        queueAdd(fifo, block);
        pthread_cond_signal(fifo->notEmpty);
        pthread_mutex_unlock(fifo->mut);
    }

    // Consumers that wait, or come back for more, must learn that it is over.
    pthread_mutex_lock(fifo->mut);
    producerDone = 1;
    pthread_cond_broadcast(fifo->notEmpty);
    pthread_mutex_unlock(fifo->mut);
}

static OutBuffer compressBlock(const Block &block)
{
    OutBuffer out;

    // As bzlib.h asks: one per cent and 600 bytes more than the input.
    out.size = static_cast<unsigned>(block.size + block.size / 100 + 601);
    out.data = new char[out.size];
    out.inSize = block.size;
    if (options.verify)
        out.inCrc = checksum(block.data, block.size);
    int ret = BZ2_bzBuffToBuffCompress(out.data, &out.size, block.data,
                                       static_cast<unsigned>(block.size),
                                       options.level, 0, 30);
    if (ret != BZ_OK)
        fail("compression failed, bzlib says " + std::to_string(ret));
    return out;
}

static void countBlock(const OutBuffer &out)
{
    pthread_mutex_lock(&TotalsMutex);
    totals.blocks++;
    totals.inBytes += out.inSize;
    totals.outBytes += out.size;
    pthread_mutex_unlock(&TotalsMutex);
}

// Takes blocks from the queue, compresses them and leaves them for the writer.
void *consumer(void *)
{
    for (;;) {
        pthread_mutex_lock(fifo->mut);
        while (fifo->empty) {
            if (producerDone) {
                pthread_mutex_unlock(fifo->mut);
                return nullptr;
            }
            pthread_cond_wait(fifo->notEmpty, fifo->mut);
        }
        Block block = queueDel(fifo);
        pthread_cond_signal(fifo->notFull);
        pthread_mutex_unlock(fifo->mut);

        OutBuffer out = compressBlock(block);
        delete[] block.data;

        pthread_mutex_lock(&OutMutex);
        OutputBuffer[block.number] = out;
        pthread_cond_signal(&OutReady);
        pthread_mutex_unlock(&OutMutex);
        countBlock(out);
    }
}

// Writes the compressed blocks in the order of the input.
void *fileWriter(void *outputDescriptor)
{
    int output = *static_cast<int *>(outputDescriptor);
    size_t numBlocks = OutputBuffer.size();

    for (size_t number = 0; number < numBlocks; number++) {
        pthread_mutex_lock(&OutMutex);
        while (OutputBuffer[number].data == nullptr)
            pthread_cond_wait(&OutReady, &OutMutex);
        OutBuffer out = OutputBuffer[number];
        OutputBuffer[number].data = nullptr;
        pthread_mutex_unlock(&OutMutex);

        if (options.verify && !blockIsIntact(out))
            fail("block " + std::to_string(number) + " does not decompress");
        writeFully(output, out.data, out.size);
        delete[] out.data;
    }
    return nullptr;
}
