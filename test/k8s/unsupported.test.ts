import { describe, expect, it } from 'vitest';
import { kubernetesLacks } from '../../k8s/unsupported.ts';

describe('what a pod cannot run', () => {
  it('is named as the task names it', () => {
    expect(kubernetesLacks({ needs: ['gpu', 'mcp'] }, 'deny')).toEqual(['gpu', 'mcp']);
    expect(kubernetesLacks({ needs: ['compose'] }, 'deny')).toEqual([]);
    expect(kubernetesLacks({ needs: [], networkMode: 'public' }, 'deny')).toEqual([]);
    expect(kubernetesLacks({ needs: ['allowlist'] }, 'deny')).toEqual([]);
  });

  it('is a network, where the sweep gives tasks the one that they declare', () => {
    expect(kubernetesLacks({ needs: [], networkMode: 'public' }, 'as-declared')).toEqual(['public network']);
    expect(kubernetesLacks({ needs: ['allowlist'], networkMode: 'allowlist' }, 'as-declared')).toEqual([
      'allowlist',
    ]);
    expect(kubernetesLacks({ needs: [], networkMode: 'no-network' }, 'as-declared')).toEqual([]);
  });
});
