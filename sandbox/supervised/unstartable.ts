// Kinds of refusal that are answers: what was asked for does not start, and no failure of the sandbox is told.

/** No such user or directory, no process or memory to be had: what ran in the sandbox before may have brought about it. */
export const unstartable: readonly string[] = ['not-found', 'limit'];
/** The same, and whatever else looking at its files, its accounts and our program comes to after an agent was at them. */
export const unstartableAfterAgent: readonly string[] = [...unstartable, 'io', 'internal'];
