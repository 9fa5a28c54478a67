import { z } from 'zod';
import { eventually } from '../../../test-support/until.ts';

const Report = z.object({
  pid: z.int(),
  commandLine: z.array(z.string()),
  /** A secret of its environment: there must be none. */
  token: z.string().nullable(),
  /** The port it listens on. */
  port: z.int(),
  config: z.looseObject({ port: z.int() }),
  /** The orchestrator's location, as the server was told. */
  orchestratorAt: z.url().nullable(),
});
export type Report = z.infer<typeof Report>;

/** What the obedient server on a port reports about itself; waits until there is one, from another process than `old`. */
export const reportOf = (port: number, old?: Report): Promise<Report> =>
  eventually(async () => {
    const report = Report.parse(await (await fetch(`http://127.0.0.1:${port}/`)).json());
    if (report.pid === old?.pid) throw new Error(`process ${report.pid} is still there`);
    return report;
  });

const WebServer = z.object({ orchestrator: z.object({ url: z.null(), secret: z.string() }) });

/** Finds both servers through the port of the board: the web server knows the orchestrator's URL. */
export async function reportsOf(boardPort: number): Promise<{ web: Report; orchestrator: Report; secret: string }> {
  const { web, port } = await eventually(async () => {
    const report = await reportOf(boardPort);
    return { web: report, port: Number(new URL(z.url().parse(report.orchestratorAt)).port) };
  });
  const { secret } = WebServer.parse(web.config).orchestrator;
  return { web, orchestrator: await reportOf(port), secret };
}
