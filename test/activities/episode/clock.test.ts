// The agent's clock: what is charged, and when the time is up.
import { describe, expect, it } from 'vitest';
import { AgentClock } from '../../../activities/episode/clock.ts';

const reply = (firstTokenMs: number | null, lastTokenMs: number, completionTokens = 0) => ({
  times: { startedAt: '', firstTokenMs, lastTokenMs, earlierTries: 0 },
  usage: { promptTokens: 0, completionTokens, cachedTokens: null, estimated: false },
});

describe('AgentClock', () => {
  it('charges a reply from first to last token, and commands by the wall', () => {
    const clock = new AgentClock({ limitMs: 30_000, kind: 'charged', tokensPerSecond: null });
    clock.chargeReply(reply(9_000, 10_000));
    clock.chargeCommands({ commandsMs: 4_000 });
    expect(clock.chargedMs).toBe(5_000);
    expect(clock.remainingMs).toBe(25_000);
    expect(clock.nominalMs).toBeNull();
  });

  it('charges nothing where nothing was streamed: the server answered that the prompt is too long', () => {
    const clock = new AgentClock({ limitMs: 1_000, kind: 'charged', tokensPerSecond: null });
    clock.chargeReply(reply(null, 800));
    expect(clock.chargedMs).toBe(0);
  });

  it('C03: a slow and a fast server give one nominal time', () => {
    const times = [reply(0, 90_000, 500), reply(0, 1_000, 500)].map((one) => {
      const clock = new AgentClock({ limitMs: 30_000, kind: 'nominal', tokensPerSecond: 50 });
      clock.chargeReply(one);
      return [clock.nominalMs, clock.expired];
    });
    expect(times).toEqual([
      [10_000, false],
      [10_000, false],
    ]);
  });

  it('C01: the time is up when all of it is charged, and not before', () => {
    const clock = new AgentClock({ limitMs: 30_000, kind: 'charged', tokensPerSecond: null });
    clock.chargeCommands({ commandsMs: 29_990 });
    expect(clock.expired).toBe(false);
    clock.chargeCommands({ commandsMs: 10 });
    expect(clock.expired).toBe(true);
  });

  it('a reply that was cut has used up what was left', () => {
    const clock = new AgentClock({ limitMs: 5_000, kind: 'charged', tokensPerSecond: null });
    clock.chargeCommands({ commandsMs: 2_000 });
    clock.chargeCutReply();
    expect(clock.chargedMs).toBe(5_000);
    expect(clock.expired).toBe(true);
  });
});
