// Checks of compressed blocks: a CRC of the input, compared after decompression.
#include "pbzip2.h"

#include <bzlib.h>

#include <memory>

// CRC-32, bit by bit: no table, so that threads share nothing here.
static uint32_t addByte(uint32_t crc, unsigned char byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320u : 0);
    return crc;
}

uint32_t checksum(const char *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < size; i++)
        crc = addByte(crc, static_cast<unsigned char>(data[i]));
    return ~crc;
}

bool blockIsIntact(const OutBuffer &block)
{
    std::unique_ptr<char[]> data(new char[block.inSize]);
    unsigned size = static_cast<unsigned>(block.inSize);
    int ret = BZ2_bzBuffToBuffDecompress(data.get(), &size, block.data,
                                         block.size, 0, 0);

    return ret == BZ_OK && size == block.inSize &&
           checksum(data.get(), size) == block.inCrc;
}
