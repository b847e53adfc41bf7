// The engine driver passes the conformance suite of the sandbox port, on a real engine.
import { conformance } from '../sandbox/conformance.ts';
import { engineHarness, enginePlatform } from '../support/engine-harness.ts';

conformance('the engine driver', enginePlatform, engineHarness);
