import { doctorFlags, parseDoctorOptions } from '../doctor/doctor-options.ts';
import type { Command } from './command.ts';

/** `callboard doctor`: says what Callboard needs and what there is, and tries out the installed `claude`. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Looks at this machine and tries out the installed claude; says what to do.',
  flags: doctorFlags,
  run: async ({ given, edges }) => {
    const options = parseDoctorOptions(given, edges);
    const { examine } = await import('../doctor/examine.ts'); // no other command has to load all of it
    const signals = edges.listenForStop();
    try {
      const { ok } = await examine(options, edges, signals.stop);
      return ok ? 0 : 1;
    } catch (error) {
      if (!signals.stop.aborted) throw error;
      edges.err('callboard: stopped before all was looked at.');
      return 1;
    } finally {
      signals.release();
    }
  },
};
