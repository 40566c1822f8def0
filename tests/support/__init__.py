"""What tests share: tiny distributions, a package index on the loopback interface."""
