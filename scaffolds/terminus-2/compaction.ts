// A compaction: the chat summarised by its own agent, questioned by one that knows nothing, and begun anew from both.
import type { ChatMessage, Compaction, CompactionPart } from '../../domain/ports.ts';
import type { Chat } from './chat.ts';
import {
  answersQuestion,
  handoverMessage,
  questionsQuestion,
  screenHandoverMessage,
  shortHandoverMessage,
  shortSummaryQuestion,
  summaryQuestion,
} from './compaction-words.ts';

/** Characters of the screen's end that the short summary is made from. */
const screenEndLength = 1_000;

/** What a compaction is made from, and what comes of its questions. */
export interface Handover {
  readonly instruction: string;
  readonly screen: string;
  /** One reply of the protocol, in a few words. */
  readonly oneReply: string;
  readonly merged: boolean;
}

/** How the chat goes on: what it is now, and what is said next. */
export interface Continuation {
  readonly outcome: Compaction['outcome'];
  readonly history: readonly ChatMessage[];
  readonly say: string;
}

const user = (content: string): ChatMessage => ({ role: 'user', content });

/** The last characters of a text, none of them halved. */
const endOf = (text: string, length: number): string =>
  text.length <= length
    ? text
    : Array.from(text.slice(-2 * length))
        .slice(-length)
        .join('');

interface Said {
  /** As the model wrote it. */
  readonly raw: string;
  /** Without its thinking. */
  readonly plain: string;
}

/** Asks one question; null where no whole answer came. What was asked is kept in `parts` either way. */
async function put(
  chat: Chat,
  parts: CompactionPart[],
  { name, history, question }: Pick<CompactionPart, 'name' | 'history' | 'question'>,
): Promise<Said | null> {
  const { answer, call } = await chat.askBeside([...history, user(question)]);
  const whole = answer.kind === 'reply' && answer.finishReason !== 'length';
  const { text, reasoning } = answer.kind === 'reply' ? answer : { text: '', reasoning: null };
  parts.push({ name, history, question, answer: whole ? { text, reasoning } : null, call });
  const plain = chat.plain(text).trim();
  return whole && plain !== '' ? { raw: text, plain } : null;
}

/** Message 1 and the questions: what the agent that goes on knows. */
function begunAnew(first: ChatMessage, asked: string, questions: string, merged: boolean): ChatMessage[] {
  const answered: ChatMessage = { role: 'assistant', content: questions };
  return merged ? [user(`${first.content}\n\n${asked}`), answered] : [first, user(asked), answered];
}

/** Summary, questions, answers; null where one of the three could not be had. */
export async function summarise(
  chat: Chat,
  { instruction, screen, oneReply, merged }: Handover,
  parts: CompactionPart[],
): Promise<Continuation | null> {
  const history = chat.messages;
  const toSummarise = summaryQuestion(instruction);
  const summary = await put(chat, parts, { name: 'summary', history, question: toSummarise });
  if (summary === null) return null;
  const toAsk = questionsQuestion(instruction, summary.plain, screen);
  const questions = await put(chat, parts, { name: 'questions', history: [], question: toAsk });
  if (questions === null) return null;
  const answers = await put(chat, parts, {
    name: 'answers',
    history: [...history, user(toSummarise), { role: 'assistant', content: summary.raw }],
    question: answersQuestion(questions.plain),
  });
  if (answers === null) return null;
  return {
    outcome: 'summary',
    history: begunAnew(chat.first ?? user(instruction), toAsk, questions.raw, merged),
    say: handoverMessage(answers.plain, oneReply),
  };
}

/** Where there is no summary: two or three sentences made from the end of the screen, or the screen alone. */
export async function fallBack(
  chat: Chat,
  { instruction, screen }: Handover,
  parts: CompactionPart[],
): Promise<Continuation> {
  const question = shortSummaryQuestion(instruction, endOf(screen, screenEndLength));
  const short = await put(chat, parts, { name: 'short-summary', history: [], question });
  return short === null
    ? { outcome: 'screen', history: chat.messages, say: screenHandoverMessage(instruction, screen) }
    : {
        outcome: 'short-summary',
        history: chat.messages,
        say: shortHandoverMessage(instruction, short.plain),
      };
}
