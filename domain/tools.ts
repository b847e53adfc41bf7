// Native tool calls as a scaffold sees them: the tools that a request offers, and the calls that a reply makes.

/** A function that a model may call; `parameters` is the JSON schema of its arguments. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A tool in the shape that requests and trajectories have it in. */
export const wireTool = ({ name, description, parameters }: ToolDefinition): Record<string, unknown> => ({
  type: 'function',
  function: { name, description, parameters },
});

/** What a request offers beside its messages. */
export interface ToolOffer {
  readonly tools: readonly ToolDefinition[];
  /** `required`: the reply must call one. */
  readonly choice: 'auto' | 'required';
}

/** One call of a reply. Its arguments are the text that the model wrote, whether it is JSON or not. */
export interface ToolCall {
  /** The server's; where it gave none, or one twice, derived from the model call and the place in it. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}
