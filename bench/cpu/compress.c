/* Compression: matches are looked for by a hash of three bytes, written as copies or literals, and read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 8192

static unsigned char text[N], packed[2 * N], unpacked[N];
static int last[4096];

static int compress(void)
{
	int out = 0, i = 0;
	memset(last, -1, sizeof last);
	while (i < N) {
		int length = 0, from = -1;
		if (i + 3 < N) {
			unsigned hash = (text[i] * 506832829u ^ text[i + 1] * 2654435761u ^ text[i + 2] * 97u) >> 20;
			from = last[hash];
			last[hash] = i;
			if (from >= 0 && i - from < 4096)
				while (length < 66 && i + length < N && text[from + length] == text[i + length])
					length++;
		}
		if (length > 3) {
			packed[out++] = (unsigned char)(0x80 | ((length - 3) & 63));
			packed[out++] = (unsigned char)((i - from) >> 8);
			packed[out++] = (unsigned char)(i - from);
			i += length;
		} else {
			packed[out++] = text[i++] & 0x7f;
		}
	}
	return out;
}

static int expand(int n)
{
	int out = 0;
	for (int i = 0; i < n;) {
		if (packed[i] & 0x80) {
			int length = (packed[i] & 63) + 3, from = out - (packed[i + 1] << 8 | packed[i + 2]);
			while (length-- > 0)
				unpacked[out++] = unpacked[from++];
			i += 3;
		} else {
			unpacked[out++] = packed[i++];
		}
	}
	return out;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned seed = 7, sum = 0;
	for (int i = 0; i < N; i++) {
		if (i % 5 == 0)
			seed = seed * 1103515245u + 12345u;
		text[i] = "the quick brown fox jumps over a lazy dog"[(seed >> 16) % 7 + i % 5 * 7] & 0x7f;
	}
	for (int round = 0; round < rounds; round++) {
		text[round % N] = (unsigned char)('a' + round % 26);
		int n = compress(), m = expand(n);
		sum = sum * 31 + (unsigned)n + (unsigned)m + (memcmp(text, unpacked, N) == 0);
	}
	printf("%u\n", sum);
	return 0;
}
