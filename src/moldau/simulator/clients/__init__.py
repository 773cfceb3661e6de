"""Small clients inside a simulation: they retry as real ones do, and write down what they know."""
