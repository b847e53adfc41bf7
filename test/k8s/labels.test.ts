import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { givenLabels, keptFacts, labelsOf, labelValue, selectorOf } from '../../k8s/labels.ts';

describe('labels', () => {
  it('are values that Kubernetes takes, whatever they were (property)', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300, unit: 'grapheme' }), (value) => {
        expect(labelValue(value)).toMatch(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/);
      }),
    );
  });

  it('stay as they are where they fit, and differ where the values do (property)', () => {
    expect([labelValue('demo-1.x_y'), labelValue('')]).toEqual(['demo-1.x_y', '']);
    fc.assert(
      fc.property(fc.string({ minLength: 64 }), fc.string({ minLength: 64 }), (one, other) => {
        expect(labelValue(one) === labelValue(other)).toBe(one === other);
      }),
    );
  });

  it('are selected by the same values that were given', () => {
    const given = { 'passband.workflow': 'sweep/demo:trial/1' };
    const carried = labelsOf(given, 'sandbox');
    const value = carried['passband.workflow'] ?? '';
    expect(selectorOf(given)).toBe(`app.kubernetes.io/managed-by=passband,passband.workflow=${value}`);
    expect(carried).toMatchObject({ 'app.kubernetes.io/managed-by': 'passband', 'passband.role': 'sandbox' });
    expect(labelsOf({}, null)).toEqual({ 'app.kubernetes.io/managed-by': 'passband' });
  });

  it('tell a pod that is not ours by its facts', () => {
    expect(keptFacts({})).toBeNull();
    expect(givenLabels({})).toBeNull();
    expect(givenLabels({ 'passband.labels': '{"a":"b"}' })).toEqual({ a: 'b' });
    expect(keptFacts({ 'passband.facts': '{"env":' })).toBeNull();
    expect(keptFacts({ 'passband.facts': '{"env":{}}' })).toBeNull();
  });
});
