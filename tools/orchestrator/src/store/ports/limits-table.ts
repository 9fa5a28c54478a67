import type { LimitSettings, LimitsView, MachineId, UsageLimits } from '@callboard/contract';

/** The usage limits of Claude accounts, and what happens at one. Machines that share a store have an account each. */
export interface LimitsTable {
  /** Returns the limits as last reported, with the settings in force. */
  view(of?: MachineId): Promise<LimitsView>;
  saveReported(limits: UsageLimits, of?: MachineId): Promise<void>;
  saveSettings(settings: LimitSettings): Promise<void>;
}
