// An error as OpenAI-shaped servers answer it: a status, a type, one message.

/** An answer in OpenAI's error shape, with its HTTP status. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequestError', message);
