/*
 * settings: readers copy a std::shared_ptr to the settings in use, an editor replaces it.
 *
 * The counts of a shared_ptr are atomic, the shared_ptr itself is not: copying one that another thread assigns is a
 * race of its two words. Libraries decide by a variable of the C library whether the counts need atomics at all; a
 * machine that takes it from its own process reports use after free in the fixed program too.
 *
 * Bug (atomicity violation): a reader has read the pointer when the editor drops the last owner of what it points to,
 * and then counts itself as an owner of memory that is free.
 */
#include <memory>
#include <thread>

struct Settings {
	int volume;
};

static std::shared_ptr<Settings> in_use = std::make_shared<Settings>(Settings{1});

static void reader()
{
	std::shared_ptr<Settings> mine = in_use;
	volatile int volume = mine->volume;
	(void)volume;
}

static void editor()
{
	auto edited = std::make_shared<Settings>(Settings{2});
	in_use = edited;
}

int main()
{
	std::thread reads(reader);
	std::thread edits(editor);
	reads.join();
	edits.join();
	return 0;
}
