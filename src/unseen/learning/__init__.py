"""Learning from planning: ExIt-OOS. The only room that knows PyTorch."""
