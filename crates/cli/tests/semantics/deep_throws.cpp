// Exceptions through many frames, each of which has something to clean up.
#include <cstdio>
#include <stdexcept>
#include <vector>

struct Guard {
	int &count;
	Guard(int &count) : count(count) { count++; }
	~Guard() { count += 100; }
};

static int deep(int n, int &count)
{
	Guard guard(count);
	if (n == 0)
		throw std::runtime_error("deep enough");
	int twice = n * 2;
	return deep(n - 1, count) + twice;
}

static int tries(int n)
{
	int count = 0;
	try {
		deep(n % 12, count);
	} catch (std::exception &) {
		count += 7;
	}
	return count;
}

int main()
{
	unsigned long sum = 0;
	for (int i = 0; i < 200; i++) {
		sum = sum * 3 + tries(i);
		std::vector<int> some(i % 7 + 1, i);
		for (int one : some)
			sum += one;
	}
	std::printf("%lu\n", sum);
	return 0;
}
