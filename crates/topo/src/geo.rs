//! Distance on the globe and the delay of that much fibre.

use midpath_core::units::Time;

/// Mean radius of the Earth in kilometres (IUGG).
pub const EARTH_RADIUS_KM: f64 = 6371.0088;
/// Light in fibre: two thirds of 299,792.458 km/s (a refractive index of 1.5).
pub const FIBRE_KM_PER_S: f64 = 299_792.458 * 2.0 / 3.0;

/// Great-circle distance in kilometres between two positions (longitude, latitude) in degrees, by
/// the haversine formula.
pub fn great_circle_km(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (lat_a, lat_b) = (a.1.to_radians(), b.1.to_radians());
    let half = |from: f64, to: f64| ((to - from) / 2.0).sin().powi(2);
    let h = half(lat_a, lat_b) + lat_a.cos() * lat_b.cos() * half(a.0.to_radians(), b.0.to_radians());
    2.0 * EARTH_RADIUS_KM * h.sqrt().min(1.0).asin()
}

/// How long light takes through that many kilometres of fibre.
pub fn fibre_delay(km: f64) -> Time {
    Time::from_secs_f64(km / FIBRE_KM_PER_S)
}

/// Whether a position can be longitude and latitude.
pub fn is_geographic((lon, lat): (f64, f64)) -> bool {
    (-360.0..=360.0).contains(&lon) && (-90.0..=90.0).contains(&lat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_distances() {
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_RADIUS_KM;
        assert!((great_circle_km((0.0, 0.0), (90.0, 0.0)) - quarter).abs() < 1e-6);
        assert!((great_circle_km((12.0, 90.0), (-70.0, 0.0)) - quarter).abs() < 1e-6);
        // topohub gives 1146.16 km for New York to Chicago.
        assert!((great_circle_km((-74.006, 40.714), (-87.65, 41.85)) - 1146.0).abs() < 2.0);
        assert_eq!(great_circle_km((5.0, 5.0), (5.0, 5.0)), 0.0);
    }

    #[test]
    fn two_hundred_kilometres_take_a_millisecond() {
        assert!((fibre_delay(200.0).as_secs_f64() - 1e-3).abs() < 1e-6);
    }
}
