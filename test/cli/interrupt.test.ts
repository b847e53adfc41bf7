// Ctrl-C as a signal.
import { afterEach, expect, it, vi } from 'vitest';
import { onInterrupt, onInterrupts, orInterrupted, type Interrupt } from '../../cli/interrupt.ts';

let interrupt: Interrupt | null = null;
afterEach(() => {
  interrupt?.off();
  interrupt = null;
});

it('aborts at the first signal, and listens no more when it is off', () => {
  interrupt = onInterrupt();
  process.emit('SIGTERM');
  expect(interrupt.signal.aborted).toBe(true);
  interrupt.off();
  const before = process.listenerCount('SIGTERM');
  const next = onInterrupt();
  next.off();
  expect(process.listenerCount('SIGTERM')).toBe(before);
});

it('stops, hurries and leaves, a signal each, and says which', () => {
  const said: string[] = [];
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  try {
    const staged = onInterrupts({ stopping: 'stop', hurrying: 'hurry', leaving: 'leave' }, (line) =>
      said.push(line),
    );
    interrupt = staged;
    process.emit('SIGINT');
    expect([staged.signal.aborted, staged.hurry.aborted, said]).toEqual([true, false, ['stop']]);
    process.emit('SIGTERM');
    expect([staged.hurry.aborted, said]).toEqual([true, ['stop', 'hurry']]);
    expect(exit).not.toHaveBeenCalled();
    process.emit('SIGINT');
    expect(exit).toHaveBeenCalledWith(130);
    expect(said.at(-1)).toBe('leave');
  } finally {
    exit.mockRestore();
  }
});

it('gives up work that cannot be interrupted by itself, with exit 130', async () => {
  interrupt = onInterrupt();
  const given = orInterrupted(interrupt.signal, new Promise(() => {}));
  process.emit('SIGINT');
  await expect(given).rejects.toMatchObject({ name: 'InputError', exitCode: 130 });
});

it('answers what the work answers where nothing interrupts it', async () => {
  interrupt = onInterrupt();
  await expect(orInterrupted(interrupt.signal, Promise.resolve(5))).resolves.toBe(5);
});
