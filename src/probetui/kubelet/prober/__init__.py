"""The probe manager: workers, results, and what they mean for a pod's status."""
