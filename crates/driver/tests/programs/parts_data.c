/* Nothing but data. */
const int parts_table[4] = { 2, 3, 5, 7 };
