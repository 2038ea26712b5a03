"""A report to send: one HTML file with everything in it."""
