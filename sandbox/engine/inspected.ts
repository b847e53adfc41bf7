// What the engine says of a container and of an image, as far as we look at it.
import { z } from 'zod';

export const InspectedContainer = z.object({
  Id: z.string().min(1),
  Name: z.string(),
  Image: z.string(),
  SizeRw: z.number().nullish(),
  State: z.object({
    Status: z.string(),
    Running: z.boolean(),
    OOMKilled: z.boolean().catch(false),
    ExitCode: z.number(),
    StartedAt: z.string(),
    Error: z.string().nullish(),
  }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
});
export type InspectedContainer = z.infer<typeof InspectedContainer>;

export const InspectedImage = z.object({
  Id: z.string().min(1),
  Config: z
    .object({
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});

export const EngineVersion = z.object({
  Version: z.string(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string() })).nullish(),
});

export const ExecState = z.object({ Running: z.boolean(), ExitCode: z.number().nullable() });

export const ListedContainers = z.array(
  z.object({
    Names: z.array(z.string()),
    Labels: z.record(z.string(), z.string()).nullish(),
    Created: z.number(),
  }),
);
