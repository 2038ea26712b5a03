"""What explaining 10,000 rows costs where the model itself is slow."""
