// The Kubernetes driver passes the conformance suite of the sandbox port, on real nodes.
import { conformance } from '../sandbox/conformance.ts';
import { clusterHarness, clusterPlatform } from '../support/cluster-harness.ts';

conformance('the Kubernetes driver', clusterPlatform, () => clusterHarness('passband-conformance'));
