"""What a user gets, in the user's words."""
