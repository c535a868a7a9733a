"""What a second thread brings."""
