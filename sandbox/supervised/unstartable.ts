// Answers of the supervisor that say why nothing was started, by whose doing that may be.

/** No such user or directory, no process or memory to be had: what ran in the sandbox before may have brought about it. */
const always = ['not-found', 'limit'];
/** The same, and whatever else looking at its files, its accounts and our program comes to after an agent was at them. */
const afterAgent = [...always, 'io', 'internal'];

/** Kinds of refusal that are answers: what was asked for ends, and no failure of the sandbox is told. */
export const unstartable = (byAgent: boolean): readonly string[] => (byAgent ? afterAgent : always);
