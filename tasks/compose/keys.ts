// THE table of a service's keys: what is kept, what changes nothing, what one pod cannot give. docs/compose.md tells it.

/**
 * `kept`: acts here. `ignored`: changes nothing of what a task can see. `refused`: one pod cannot give it.
 * `sidecars`: it only narrows what a service may do. A sidecar that works under it works without it; for the agent's own
 * container it is refused.
 */
export type Decision = 'kept' | 'ignored' | 'refused' | 'sidecars';

export interface KeyRule {
  readonly decision: Decision;
  readonly why: string;
}

const rule = (decision: Decision, why: string): KeyRule => ({ decision, why });

export const serviceKeys: Readonly<Record<string, KeyRule>> = {
  build: rule('kept', 'a folder of environment/ is built at the gate'),
  cap_add: rule('kept', 'only what root in a sandbox has anyway'),
  command: rule('kept', 'of main: started behind the network barrier where it does more than wait'),
  container_name: rule('kept', 'a name to be reached by'),
  cpus: rule('kept', 'the limit of its container'),
  depends_on: rule('kept', 'the order of starting, with its conditions'),
  deploy: rule('kept', 'resources.limits alone acts'),
  entrypoint: rule('kept', 'in place of the image’s'),
  env_file: rule('kept', 'read when the task is read'),
  environment: rule('kept', 'on top of the image’s'),
  expose: rule('kept', 'two services with one port are refused'),
  extra_hosts: rule('kept', 'a line of /etc/hosts, of all services'),
  healthcheck: rule('kept', 'waited for before the agent begins'),
  hostname: rule('kept', 'a name to be reached by'),
  image: rule('kept', 'pinned to its digest at the gate'),
  ipc: rule('kept', 'a pod’s containers share it, so `shareable` and `service:` change nothing'),
  links: rule('kept', 'names to be reached by, and an order'),
  mem_limit: rule('kept', 'the limit of its container'),
  network_mode: rule('kept', '`service:` and `bridge`: all services share one network anyway'),
  networks: rule('kept', 'aliases are names; every sidecar must share one with main'),
  pids_limit: rule('kept', 'of main: the task’s own limit, where task.toml has none to give'),
  platform: rule('kept', 'linux/amd64 alone'),
  ports: rule('kept', 'as expose: there is no host to publish to'),
  profiles: rule('kept', 'a service of a profile is not started'),
  restart: rule('kept', 'the supervisor starts it again'),
  scale: rule('kept', '1 alone'),
  security_opt: rule('kept', 'what only narrows, or says nothing'),
  shm_size: rule('kept', 'the size of /dev/shm'),
  tmpfs: rule('kept', 'memory of its container'),
  user: rule('kept', 'of main: where task.toml names none'),
  volumes: rule('kept', 'named volumes, tmpfs, and files of environment/'),
  working_dir: rule('kept', 'of main: where task.toml names none'),

  annotations: rule('ignored', 'said to the engine'),
  attach: rule('ignored', 'said to the command line'),
  blkio_config: rule('ignored', 'a share of the disk’s time'),
  cpu_percent: rule('ignored', 'Windows'),
  cpu_count: rule('ignored', 'Windows'),
  cpu_shares: rule('ignored', 'a weight against other containers'),
  develop: rule('ignored', 'acts under `watch` alone'),
  init: rule('ignored', 'PID 1 is an init that reaps'),
  label_file: rule('ignored', 'said to the engine'),
  labels: rule('ignored', 'said to the engine'),
  logging: rule('ignored', 'said to the engine'),
  mem_reservation: rule('ignored', 'a wish, and no limit'),
  mem_swappiness: rule('ignored', 'there is no swap'),
  memswap_limit: rule('ignored', 'there is no swap'),
  oom_score_adj: rule('ignored', 'an order among processes of the host'),
  pre_stop: rule('ignored', 'nobody looks at a service once it stops'),
  pull_policy: rule('ignored', 'images are pinned by digest'),
  pull_refresh_after: rule('ignored', 'images are pinned by digest'),
  stdin_open: rule('ignored', 'nobody types there'),
  stop_grace_period: rule('ignored', 'nobody looks at a service once it stops'),
  stop_signal: rule('ignored', 'nobody looks at a service once it stops'),
  tty: rule('ignored', 'nobody types there'),

  cap_drop: rule('sidecars', 'the agent would have rights that the task takes from it'),
  cpu_period: rule('sidecars', 'say cpus'),
  cpu_quota: rule('sidecars', 'say cpus'),
  cpuset: rule('sidecars', 'the agent would see processors that the task hides'),
  read_only: rule('sidecars', 'the agent could write where the task forbids it'),
  ulimits: rule('sidecars', 'a pod has the limits of its node'),

  cgroup: rule('refused', 'the host’s cgroups are not to be had'),
  cgroup_parent: rule('refused', 'the host’s cgroups are not to be had'),
  configs: rule('refused', 'bind the file as a volume'),
  cpu_rt_period: rule('refused', 'real time is not to be had'),
  cpu_rt_runtime: rule('refused', 'real time is not to be had'),
  credential_spec: rule('refused', 'Windows'),
  device_cgroup_rules: rule('refused', 'a pod has no devices of its node'),
  devices: rule('refused', 'a pod has no devices of its node'),
  dns: rule('refused', 'names come from /etc/hosts'),
  dns_opt: rule('refused', 'names come from /etc/hosts'),
  dns_search: rule('refused', 'names come from /etc/hosts'),
  domainname: rule('refused', 'names come from /etc/hosts'),
  extends: rule('refused', 'write the service out'),
  external_links: rule('refused', 'there is nothing beside the task'),
  gpus: rule('refused', 'a pod has no devices of its node'),
  group_add: rule('refused', 'groups come from the image'),
  isolation: rule('refused', 'Windows'),
  mac_address: rule('refused', 'all services share one network'),
  models: rule('refused', 'a sandbox has no model'),
  oom_kill_disable: rule('refused', 'a limit is a limit'),
  pid: rule('refused', 'each container has its own processes'),
  post_start: rule('refused', 'write it into command'),
  privileged: rule('refused', 'it would be root on the node'),
  provider: rule('refused', 'there is nothing beside the task'),
  runtime: rule('refused', 'the cluster’s runtime is the driver’s to choose'),
  secrets: rule('refused', 'bind the file as a volume'),
  storage_opt: rule('refused', 'the disk is limited by task.toml'),
  sysctls: rule('refused', 'the kernel is the node’s'),
  use_api_socket: rule('refused', 'there is no engine inside'),
  userns_mode: rule('refused', 'the driver chooses'),
  uts: rule('refused', 'the host’s name is not to be had'),
  volumes_from: rule('refused', 'name the volume in both services'),
};

export const topKeys: Readonly<Record<string, KeyRule>> = {
  services: rule('kept', 'main and its sidecars'),
  volumes: rule('kept', 'local ones without options'),
  networks: rule('kept', 'bridges, of which all end in one'),
  name: rule('ignored', 'said to the engine'),
  version: rule('ignored', 'compose does not read it either'),
  configs: rule('ignored', 'no service may have one'),
  secrets: rule('ignored', 'no service may have one'),
  include: rule('refused', 'write the services out'),
  models: rule('refused', 'a sandbox has no model'),
};

export const buildKeys: Readonly<Record<string, KeyRule>> = {
  args: rule('kept', 'as they are written'),
  context: rule('kept', 'a folder of environment/, or the task’s root without tests and solutions'),
  dockerfile: rule('kept', 'inside the context'),
  target: rule('kept', 'the stage to build'),
  cache_from: rule('ignored', 'a cache'),
  cache_to: rule('ignored', 'a cache'),
  labels: rule('ignored', 'said to the engine'),
  network: rule('ignored', 'builds have a network, or none under an offline build'),
  no_cache: rule('ignored', 'a cache'),
  platforms: rule('ignored', 'the cluster’s own is built'),
  provenance: rule('ignored', 'said to the engine'),
  pull: rule('ignored', 'a cache'),
  sbom: rule('ignored', 'said to the engine'),
  shm_size: rule('ignored', 'of the build'),
  tags: rule('ignored', 'images go by digest'),
  ulimits: rule('ignored', 'of the build'),
  additional_contexts: rule('refused', 'copy the files into the context'),
  dockerfile_inline: rule('refused', 'write a Dockerfile'),
  entitlements: rule('refused', 'a build has no rights on its host'),
  extra_hosts: rule('refused', 'a build reaches nothing by such a name'),
  isolation: rule('refused', 'Windows'),
  privileged: rule('refused', 'a build has no rights on its host'),
  secrets: rule('refused', 'there are no secrets to give'),
  ssh: rule('refused', 'there are no keys to give'),
};

/** `x-anything` is for people and for anchors. */
export const isExtension = (key: string): boolean => key.startsWith('x-');

/** Whether a value asks for nothing: `privileged: false`, `devices: []`. */
export function asksNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 'false')
    return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
