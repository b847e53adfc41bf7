// What is said at the context's limit, in our own words: to the agent that hands over, and to the one that goes on.

/** Of its own work so far, before the chat is replaced. */
export const summaryQuestion = (instruction: string): string =>
  `The conversation is about to reach its longest length, and another agent will go on with your work from what you write now. This is the task:
${instruction}

Write a summary of the whole conversation for that agent, with everything it needs and cannot see:
1. What was done: the steps that mattered, with their commands and what came of each.
2. What was learned: files and their contents, paths, versions, settings, exact error messages.
3. What went wrong, and how it was dealt with.
4. Where the work stands now: what is done, what runs, what is still missing, and what to do next.

Reply with the summary alone; nothing is typed into the terminal.`;

/** To an agent with nothing but this: what it would ask the one before it. */
export const questionsQuestion = (instruction: string, summary: string, screen: string): string =>
  `You take over work from another agent. This is the task:
${instruction}

The agent's summary of its work:
${summary}

What the terminal shows now:
${screen}

Before you begin you may put questions to that agent, once: after its answers you are on your own. Ask at least five, and more where you need to know more, about the state of the work that the summary does not tell. Reply with the questions alone.`;

export const answersQuestion = (questions: string): string =>
  `The agent that takes over asks you this. Answer each question in turn, exactly and in full:

${questions}`;

/** The next message of the chat that begins with the task and the questions. */
export const handoverMessage = (answers: string, oneReply: string): string =>
  `The answers of the agent before you:

${answers}

Go on with the task from where that agent stopped. No more questions can be asked: reply with ${oneReply}.`;

export const shortSummaryQuestion = (instruction: string, screenEnd: string): string =>
  `This task is being worked on in a terminal:
${instruction}

The end of what the terminal shows:
${screenEnd}

Say in two or three sentences where the work stands and what comes next.`;

export const shortHandoverMessage = (instruction: string, summary: string): string =>
  `${instruction}

Where the work stands: ${summary}`;

export const screenHandoverMessage = (instruction: string, screen: string): string =>
  `${instruction}

What the terminal shows now:
${screen}`;

/** Stands for a reply that could not be had: no form of a reply, so that it is answered as one that cannot be read. */
export const cannedReply = 'There was a technical difficulty. I go on with the task.';
