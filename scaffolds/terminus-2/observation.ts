// What the model is shown of the terminal: new output where it can be told apart, else the screen; bounded in bytes.
import { Buffer } from 'node:buffer';
import type { Observation } from '../../domain/ports.ts';
import { joinHalves } from '../join-halves.ts';

/** Bytes of UTF-8 shown of one observation: the first half and the last half. */
export const outputLimitBytes = 10_000;

/** A terminal that bounds its texts itself puts a line between the halves: that line may pass the limit. */
const middleLineBytes = 256;

/** First half and last half of a text over the limit, with a line between that says how much was left out. */
export function limitOutput(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= outputLimitBytes + middleLineBytes) return text;
  const half = outputLimitBytes / 2;
  const kept = Buffer.concat([bytes.subarray(0, half), bytes.subarray(-half)]);
  return joinHalves(kept, bytes.length - outputLimitBytes, outputLimitBytes);
}

/** The labelled text of a screen that is bounded already. */
export const labelledScreen = (screen: string): string => `Current Terminal Screen:\n${screen}`;

/** The labelled text of an observation. */
export function describeObservation({ fresh, screen }: Observation): string {
  return fresh !== null && fresh.trim() !== ''
    ? `New Terminal Output:\n${limitOutput(fresh)}`
    : labelledScreen(limitOutput(screen));
}
