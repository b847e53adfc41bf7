// The pods of a survey: a canary, which tries, and its peer, which answers; the policy lets both through.
import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import type { Image } from '../domain/gate.ts';
import { supervisorPath } from '../sandbox/supervised/supervisor.ts';
import type { SurveyRequest } from '../sandbox/egress.ts';
import { peerPort } from './canary-targets.ts';
import type { KubernetesConfig } from './config.ts';
import { pinned } from './images/images.ts';
import { keys } from './labels.ts';
import { mainContainer } from './observed-pod.ts';
import { bareSpec, headOf, securityOf } from './pod-spec.ts';

/** Open to the outside by its role, in the cluster's names, and with nothing of a task. */
export function canaryPod(
  { name, labels, lifetimeSec }: SurveyRequest,
  part: 'canary' | 'peer',
  {
    image,
    owner,
    config,
  }: {
    readonly image: Image;
    readonly owner: V1OwnerReference | null;
    readonly config: KubernetesConfig['pod'];
  },
): V1Pod {
  const head = headOf({ name: `${name}-${part}`, labels }, 'canary', owner);
  const bare = bareSpec(config, false);
  // It has the cluster's names, which a sandbox has not.
  delete bare.dnsConfig;
  const listen = part === 'peer' ? ['--listen', String(peerPort)] : [];
  return {
    ...head,
    metadata: {
      ...head.metadata,
      annotations: { ...head.metadata?.annotations, [keys.spec]: `${part} ${image.digest}` },
    },
    spec: {
      ...bare,
      hostname: part,
      dnsPolicy: 'ClusterFirst',
      activeDeadlineSeconds: Math.max(1, Math.ceil(lifetimeSec)),
      containers: [
        {
          name: mainContainer,
          image: pinned(image),
          imagePullPolicy: 'IfNotPresent',
          command: [supervisorPath, 'init', '--workdir', '/', ...listen],
          workingDir: '/',
          securityContext: securityOf(''),
          resources: {
            requests: { cpu: '10m', memory: '32Mi', 'ephemeral-storage': '1Mi' },
            limits: { cpu: '1', memory: '128Mi', 'ephemeral-storage': '64Mi' },
          },
        },
      ],
    },
  };
}
