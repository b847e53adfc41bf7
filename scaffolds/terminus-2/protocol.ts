// The two forms of a reply, JSON and XML: how each is read, and what the model is told of it.
import type { ParsedReply } from './commands.ts';
import type { Terminus2Options } from './options.ts';
import { parseReply, type ParseRules } from './parse-reply.ts';
import { holdsWholeXml, parseXmlReply } from './parse-xml.ts';
import { jsonShape, setThinkingAside, xmlShape, type ReplyShape } from './thinking.ts';
import { jsonForm, xmlForm, type ReplyForm } from './reply-form.ts';

export interface Protocol {
  readonly parse: (reply: string) => ParsedReply;
  /** Whether a reply that was cut by its length is to be taken as it is. */
  readonly takesCut: (reply: string) => boolean;
  /** What is no reply to be parsed, without its thinking. */
  readonly plain: (text: string) => string;
  readonly form: ReplyForm;
}

export function protocolOf(options: Terminus2Options): Protocol {
  const rules: ParseRules = {
    thinkBlocks: options.think_blocks,
    objectChoice: options.object_choice,
    durations: options.durations,
    completeTag: options.complete_tag,
  };
  const plainIn =
    (shape: ReplyShape) =>
    (text: string): string =>
      rules.thinkBlocks === 'set-aside' ? setThinkingAside(text, shape) : text;
  switch (options.parser_name) {
    case 'json':
      return {
        parse: (reply) => parseReply(reply, rules),
        takesCut: () => false,
        plain: plainIn(jsonShape),
        form: jsonForm,
      };
    case 'xml':
      return {
        parse: (reply) => parseXmlReply(reply, rules),
        takesCut: (reply) => holdsWholeXml(reply, rules),
        plain: plainIn(xmlShape),
        form: xmlForm,
      };
  }
}
