/*
 * The fixed twin of session_release.cpp: the id is read before the session is released.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

static constexpr int requests = 4;

class Session {
public:
	explicit Session(int id) : id(id) {}

	/* Whether it was the last reference. */
	bool release()
	{
		if (references.fetch_sub(1) != 1)
			return false;
		delete this;
		return true;
	}

	const int id;
	std::atomic<int> handled{0};

private:
	~Session() = default;

	std::atomic<int> references{requests};
};

static std::mutex journal_lock;
static int journal[requests];
static int entries;

static void note(int id)
{
	std::lock_guard<std::mutex> guard(journal_lock);
	journal[entries++] = id;
}

static void request(Session *session)
{
	session->handled.fetch_add(1);
	int id = session->id;
	bool last = session->release();
	if (!last)
		note(id);
}

int main()
{
	Session *session = new Session(7);
	std::vector<std::thread> threads;

	for (int i = 0; i < requests; i++)
		threads.emplace_back(request, session);
	for (std::thread &thread : threads)
		thread.join();
	assert(entries == requests - 1);
	return 0;
}
