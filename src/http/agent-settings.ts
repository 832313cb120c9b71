import { z } from '@hono/zod-openapi';
import { Agent, AgentCreation, line, time } from './schemas.ts';

/** Requests and responses about the settings of an agent. */

const { shape } = AgentCreation;

export const AgentSettings = z
  .strictObject({
    name: shape.name.optional().openapi({
      description: 'A new name. The handle stays, and the former name still leads to the agent.',
    }),
    role: shape.role.unwrap().unwrap().optional(),
    instructions: shape.instructions.unwrap().optional(),
    provider: shape.provider.unwrap().unwrap().optional(),
    model: shape.model.unwrap().optional(),
    program: shape.program.unwrap().optional(),
    maySpawn: shape.maySpawn.unwrap().optional(),
    fallback: shape.fallback.unwrap().optional(),
    workspace: shape.workspace.unwrap().unwrap().optional(),
    tools: shape.tools.unwrap().optional().openapi({ description: 'null: every tool that the parent has.' }),
    persona: shape.persona.unwrap().optional().openapi({
      description: "Without `tools`, the persona's tools become the agent's scope.",
    }),
    arguments: shape.arguments.unwrap().optional(),
  })
  .openapi('AgentSettings');

export const ChangedAgent = z
  .strictObject({
    ...Agent.shape,
    changed: z.array(z.string()).openapi({ description: 'The settings that changed.' }),
    running: z
      .strictObject({ runId: z.string(), keeps: z.array(z.string()) })
      .nullable()
      .openapi({ description: 'The turn in progress, and the settings that it keeps until it ends.' }),
    interrupted: z.string().nullable().openapi({ description: 'The run whose attempt was ended; it starts again.' }),
  })
  .openapi('ChangedAgent');

export const SettingsRevision = z
  .strictObject({
    revision: z.int(),
    by: z.string().nullable().openapi({ description: 'Handle of who changed it; null for the first revision.' }),
    at: time,
    settings: z.strictObject({
      name: z.string(),
      role: z.string(),
      instructions: z.string(),
      provider: z.string(),
      model: z.string().nullable(),
      program: z.string().nullable(),
      maySpawn: z.array(z.string()).nullable(),
      fallback: z.array(z.string()).nullable(),
      workspace: z.string(),
      tools: z.array(z.string()).nullable(),
      persona: z.string().nullable(),
      arguments: z.record(z.string(), z.string()),
    }),
  })
  .openapi('SettingsRevision');

export const AgentPause = z
  .strictObject({
    reason: line(500).default('').openapi({ description: 'Shown wherever the agent is shown.' }),
    now: z.boolean().default(false).openapi({
      description: 'End the attempt in progress. It does not count, and starts again when the agent is resumed.',
    }),
  })
  .openapi('AgentPause');
