"""What all backends share in running the steps of a stratum."""
