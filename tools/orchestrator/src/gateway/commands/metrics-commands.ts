import type { Logins } from '../../auth/logins.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MetricsDeps {
  logins: Pick<Logins, 'requireMetricsToken'>;
  metrics: Pick<Metrics, 'text'>;
  views: Pick<BoardViews, 'board'>;
}

export const metricsCommands = ({ logins, metrics, views }: MetricsDeps): Pick<CommandHandlers, 'get_metrics'> => ({
  async get_metrics({ token }) {
    await logins.requireMetricsToken(token);
    return { text: await metrics.text(await views.board()) };
  },
});
