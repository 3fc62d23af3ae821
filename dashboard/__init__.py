"""What people look at; computes nothing."""
