import { describe, expect, it } from 'vitest';
import { ClassifiedError } from '../../domain/errors.ts';
import { execRefusal, ExecRefused, NodeSilent, NotRunning } from '../../k8s/exec.ts';
import { connectionError, InTheWay, NotThere, QuotaExceeded, refusalOf } from '../../k8s/kube-errors.ts';

const refusal = (statusCode: number, message: string, headers: Record<string, string> = {}) =>
  refusalOf('creating pod p', { statusCode, headers, text: JSON.stringify({ kind: 'Status', message }) });

describe('a refusal of the API server', () => {
  it('is not there, or in the way', () => {
    expect(refusal(404, 'pods "p" not found')).toBeInstanceOf(NotThere);
    expect(refusal(409, 'pods "p" already exists')).toBeInstanceOf(InTheWay);
  });

  it('tells quota from rights (C45)', () => {
    const quota = refusal(
      403,
      'pods "p" is forbidden: exceeded quota: trials, requested: pods=1, used: pods=2',
    );
    expect(quota).toBeInstanceOf(QuotaExceeded);
    const rights =
      'pods is forbidden: User "w" cannot create resource "pods" in API group "" in the namespace "t"';
    expect(refusal(403, rights)).toMatchObject({ failureClass: 'Forbidden' });
    expect(refusal(401, 'Unauthorized')).toMatchObject({ failureClass: 'Forbidden' });
  });

  it.each([
    ['pods "p" is forbidden: violates PodSecurity "restricted:latest": seccompProfile', 'ConfigInvalid'],
    ['pods "p" is forbidden: no PriorityClass with name low was found', 'ConfigInvalid'],
    ['pods "p" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi', 'TaskInvalid'],
    ['pods "p" is forbidden: error looking up service account t/default', 'PlatformUnavailable'],
    [
      'pods is forbidden: User "w" cannot list resource "pods": RBAC: role.rbac.authorization.k8s.io "w" not found',
      'PlatformUnavailable',
    ],
  ])('tells what an admission refuses: %s', (message, failureClass) => {
    expect(refusal(403, message)).toMatchObject({ failureClass });
  });

  it('tells a wrong pod from a wrong configuration', () => {
    const words = 'Pod "p" is invalid: spec.';
    expect(refusal(422, `${words}containers[0].resources.requests: Invalid value`)).toMatchObject({
      failureClass: 'TaskInvalid',
    });
    expect(refusal(422, `${words}tolerations[0].operator: Invalid value`)).toMatchObject({
      failureClass: 'ConfigInvalid',
    });
  });

  it('is a platform that has no answer now, with the delay that it asks for', () => {
    expect(refusal(429, 'too many requests', { 'retry-after': '3' })).toMatchObject({
      failureClass: 'PlatformUnavailable',
      retryAfterMs: 3_000,
    });
    expect(refusal(500, 'etcdserver: leader changed')).toMatchObject({ retryAfterMs: null });
    expect(refusal(504, 'gateway timeout')).toMatchObject({ failureClass: 'PlatformUnavailable' });
  });

  it('repeats the words of the server alone, bounded, and of a proxy nothing', () => {
    const secret = { authorization: 'Bearer SECRET', 'set-cookie': 'SECRET' };
    const error = refusal(500, 'x'.repeat(10_000), secret);
    expect(error.message.length).toBeLessThan(1_100);
    expect(JSON.stringify([error.message, error.cause])).not.toContain('SECRET');
    const page = refusalOf('x', { statusCode: 502, headers: {}, text: '<html>SECRET</html>' });
    expect(page.message).toBe('cluster, x: HTTP 502');
  });

  it('of a connection is in the system own words', () => {
    const error = connectionError('looking', null, new Error('connect ECONNREFUSED 127.0.0.1:1'));
    expect(error).toMatchObject({ failureClass: 'PlatformUnavailable' });
    expect(error.message).toBe('cluster, looking: connect ECONNREFUSED 127.0.0.1:1');
  });
});

describe('a refused exec', () => {
  const exec = (statusCode: number, message: string) => execRefusal(statusCode, refusal(statusCode, message));

  it('tells a container that does not run from a pod that is not there', () => {
    expect(exec(404, 'pods "p" not found')).toBeInstanceOf(NotThere);
    expect(exec(500, 'unable to upgrade connection: container not found ("main")')).toBeInstanceOf(
      NotRunning,
    );
    expect(exec(400, 'container main is not valid for pod p')).toBeInstanceOf(NotRunning);
  });

  it('tells a node that does not answer from a runtime that could not (C37)', () => {
    const dial = 'error dialing backend: dial tcp 172.30.0.12:10250: connect: connection refused';
    expect(exec(500, dial)).toBeInstanceOf(NodeSilent);
    expect(exec(502, 'error dialing backend: i/o timeout')).toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
    expect(exec(500, 'failed to exec in container: no such file')).toBeInstanceOf(ExecRefused);
  });

  it('tells what is not allowed', () => {
    const error = exec(403, 'pods "p" is forbidden: User "w" cannot create resource "pods/exec"');
    expect(error).toBeInstanceOf(ClassifiedError);
    expect(error).toMatchObject({ failureClass: 'Forbidden' });
  });
});
