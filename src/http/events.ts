import { z } from '@hono/zod-openapi';
import { EVENTS, type EventType, type ShownData } from '../core/event.ts';
import { Message, time } from './schemas.ts';

/** An event as the stream shows it. */
export type ShownEvent = {
  [T in EventType]: {
    readonly seq: number;
    readonly type: T;
    readonly at: string;
    readonly data: ShownData<T, z.infer<typeof Message>>;
  };
}[EventType];

/** The schema of each type of event, for the document. */
export function eventSchemas(): Map<EventType, z.ZodType> {
  const types = Object.keys(EVENTS) as EventType[];
  return new Map(
    types.map((type) => [
      type,
      z
        .strictObject({ seq: z.int(), type: z.literal(type), at: time, data: z.strictObject(shownShape(type)) })
        .openapi({ description: EVENTS[type].about }),
    ]),
  );
}

/** `message_created` is `MessageCreatedEvent` in the document. */
export function eventName(type: string): string {
  return `${type.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;
}

/** The fields of an event's data, as readers get them. */
export function shownShape(type: EventType): z.ZodRawShape {
  const { stored, shown } = EVENTS[type];
  if (shown === 'message') return { message: Message, to: z.array(z.string()) };
  const handle = z.string();
  return {
    ...stored,
    ...('agentId' in stored && { agent: stored.agentId.safeParse(undefined).success ? handle.optional() : handle }),
    ...('participantId' in stored && { participant: handle }),
  };
}
